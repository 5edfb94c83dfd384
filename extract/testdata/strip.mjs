// Takes the picture of the first slide, 440 KB, out of a presentation; see README.md.
import {writeFileSync} from "node:fs"
import CFB from "cfb"

const file = CFB.read("slides.ppt", {type: "file"})
CFB.utils.cfb_del(file, "\u0005SummaryInformation")
writeFileSync("slides.ppt", CFB.write(file, {type: "buffer"}))
