"""Runs the code samples of a reference: python ci/samples/samples.py LINE WORK

LINE is what `kartei demo --json` printed, WORK a folder for the samples.

A sample runs as the reference shows it, in a folder with a file to upload, with
KARTEI_KEY set. Two things are put in place of examples of the document:

- each id that ends in 01jb2z5k3xf0q8r9s7t6v5w4y3 becomes that of a real record;
  a sample that changes a record has one of its own;
- the revision "r3" in If-Match becomes "r1", that of a new record.

Go samples are compiled together: `package main` and `func main` get other names.
A sample must succeed, print what it promises, and have done what it says. With a
wrong key each must fail, since a sample that overlooks an error teaches that.
"""

import ast
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import uuid

import requests

EXAMPLE = re.compile(r"\b([a-z]{3})_01jb2z5k3xf0q8r9s7t6v5w4y3\b")
OTHER = re.compile(r"[a-z]{3}_01jb2z5k3xf0q8r9s7t6v5w4y4")
FILE = "Klageschrift.pdf"
SAMPLE_SECONDS = 120  # for one sample on a machine that is busy

with open(sys.argv[1], encoding="utf-8") as file:
    demo = json.load(file)
work = pathlib.Path(sys.argv[2])
key = demo["keys"]["full"]

# A PDF of one empty page.
PDF = b"%PDF-1.4\n"
offsets = []
for number, body in enumerate((b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
                               b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>"), 1):
    offsets.append(len(PDF))
    PDF += b"%d 0 obj%s endobj\n" % (number, body)
start = len(PDF)
PDF += b"xref\n0 4\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % o for o in offsets)
PDF += b"trailer<</Size 4/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % start


def call(method, path, body=None, headers=(), good=True):
    answer = requests.request(method, demo["baseUrl"] + path, json=body, timeout=60, headers={
        "Authorization": "Bearer " + key, "Svc-Preview": "true", "Idempotency-Key": str(uuid.uuid4()), **dict(headers)})
    if good and not answer.ok:
        raise SystemExit(f"{method} {path}: {answer.status_code} {answer.text}")
    return answer


def created(path, body):
    return call("POST", path, body).json()["id"]


def new_upload():
    upload = call("POST", "/uploads", {"fileName": FILE, "contentType": "application/pdf", "size": len(PDF)}).json()
    requests.request(upload["method"], upload["url"], headers=upload["headers"], data=PDF, timeout=60).raise_for_status()
    return upload["id"]


def new_operation():
    return created("/documents", {"uploadId": new_upload()})


def finished(operation):
    for _ in range(3000):  # the first PDF waits for its reader to be compiled, at low priority
        answer = call("GET", "/operations/" + operation).json()
        if answer["status"] == "succeeded":
            return answer["result"]["id"]
        if answer["status"] == "failed":
            break
        time.sleep(0.1)
    raise SystemExit(f"{operation} makes no document: {answer}")


def new_endpoint():
    return created("/webhook_endpoints", {"name": "CRM", "url": "https://crm.example.com/hooks/kartei", "eventTypes": ["task.deleted"]})


NEW = {
    "con": lambda: created("/contacts", {"lastName": "Berg"}),
    "cmp": lambda: created("/companies", {"name": "Berg GmbH"}),
    "tsk": lambda: created("/tasks", {"title": "Klage"}),
    "doc": lambda: finished(new_operation()),
    "upl": new_upload,
    "opr": new_operation,
    "whe": new_endpoint,
    "evt": lambda: call("GET", "/events?limit=1").json()["data"][0]["id"],
}
shared = {}


def record(prefix, own):
    """Returns the id of a record: one of the sample's own, or the one that samples share for reading."""
    if own:
        return NEW[prefix]()
    if prefix not in shared:
        shared[prefix] = NEW[prefix]()
    return shared[prefix]


class Sample:
    def __init__(self, version, operation, method, path, sample):
        self.operation, self.method, self.path, self.label = operation, method, path, sample["label"]
        self.name = f"{version} {operation} in {self.label}"
        self.ids = []
        own = method in ("PATCH", "DELETE") or path.endswith(("/complete", "/merge")) or operation == "documents.create"
        found = sorted(set(EXAMPLE.findall(sample["source"])))
        self.source = sample["source"].replace('"r3"', '"r1"')
        for prefix in found:
            self.ids.append(record(prefix, own))
            self.source = self.source.replace(prefix + "_01jb2z5k3xf0q8r9s7t6v5w4y3", self.ids[-1])
        for other in sorted(set(OTHER.findall(sample["source"]))):
            self.ids.append(NEW[other[:3]]())
            self.source = self.source.replace(other, self.ids[-1])
        self.folder = work / re.sub(r"\W", "_", self.name)
        self.folder.mkdir()
        (self.folder / FILE).write_bytes(PDF)

    def command(self):
        match self.label:
            case "curl":
                file, command = "sample.sh", ["bash", "-euo", "pipefail"]
            case "Python":
                file, command = "sample.py", [sys.executable]
            case "JavaScript":
                file, command = "sample.mjs", ["node"]
            case "Go":
                return [str(work / "go" / "samples"), self.package()]
        (self.folder / file).write_text(self.source, encoding="utf-8")
        return [*command, file]

    def package(self):
        return "s" + hashlib.sha256(self.name.encode()).hexdigest()[:16]

    def write_package(self, root):
        source, mains = re.subn(r"^package main$", "package " + self.package(), self.source, flags=re.M)
        source, functions = re.subn(r"^func main\(\) {$", "func Main() {", source, flags=re.M)
        assert mains == functions == 1, self.name
        (root / self.package()).mkdir()
        (root / self.package() / "sample.go").write_text(source, encoding="utf-8")

    def run(self, with_key):
        return subprocess.run(self.command(), cwd=self.folder, env={**os.environ, "KARTEI_KEY": with_key}, timeout=SAMPLE_SECONDS,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")

    def check(self):
        """Returns an error message, or nothing."""
        wrong = self.run("kart_test_wrong")
        if wrong.returncode == 0:
            return f"succeeds with a wrong key: {wrong.stdout}"
        (self.folder / FILE).write_bytes(PDF)
        ran = self.run(key)
        if ran.returncode != 0:
            return f"ended with {ran.returncode}: {ran.stdout}{ran.stderr}"
        try:
            self.judge(ran.stdout)
        except Exception as error:
            return f"{type(error).__name__} {error}: {ran.stdout}{ran.stderr}"

    def judge(self, out):
        if self.operation == "documents.content":
            assert (self.folder / FILE).read_bytes() == PDF, "the file is another one"
        elif self.operation == "openapi.get":
            assert json.loads((self.folder / "openapi.json").read_text())["openapi"].startswith("3.1")
        elif self.operation == "uploads.create":
            call("POST", "/documents", {"uploadId": out.strip().splitlines()[-1]})
        elif self.operation == "documents.create":
            assert "succeeded" in out, "the operation has not ended well"
        elif self.path.endswith("/merge"):
            assert "succeeded" in out, "the operation has not ended well"
            assert call("GET", self.read_path(-1), good=False).status_code == 404, "the other record is still there"
        elif self.method == "DELETE":
            assert call("GET", self.read_path(), good=False).status_code == 404, "the record is still there"
        else:
            self.judge_printed(out)

    def judge_printed(self, out):
        match self.label:
            case "curl" | "Go":
                answer = json.loads(out)
            case "Python":
                answer = ast.literal_eval(out)
            case "JavaScript":  # console.log abridges
                answer = {} if out.startswith("{") else None
        assert isinstance(answer, dict), "no object was printed"
        if self.method == "PATCH":
            assert call("GET", self.read_path()).json()["revision"] == 2, "nothing has changed"
        elif self.path.endswith("/complete"):
            assert call("GET", self.read_path()).json()["status"] == "completed", "the task is still open"

    def read_path(self, which=0):
        return "/" + self.path.split("/")[1] + "/" + self.ids[which]


def documents():
    """Returns the documents behind the reference, by version."""
    found = {}
    for version in sorted(path.stem for path in pathlib.Path("api/openapi").glob("2*.json")):
        answer = requests.get(demo["webUrl"] + "/docs/reference.json", params={"lang": "en", "version": version}, timeout=60)
        answer.raise_for_status()
        found[version] = answer.json()
    return found


def samples_of(version, document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method not in ("get", "post", "patch", "delete"):
                continue
            samples = operation["x-codeSamples"]
            labels = [sample["label"] for sample in samples]
            assert labels == ["curl", "Python", "JavaScript", "Go"], (path, method, labels)
            for sample in samples:
                yield Sample(version, operation["operationId"], method.upper(), path, sample)


def compile_go(samples):
    root = work / "go"
    root.mkdir()
    (root / "go.mod").write_text("module samples\n\ngo 1.24\n")
    packages = [sample.package() for sample in samples]
    for sample in samples:
        sample.write_package(root)
    lines = ["package main", "import (", '"os"', *(f'"samples/{name}"' for name in packages), ")",
             "func main() {", "switch os.Args[1] {", *(f'case "{name}": {name}.Main()' for name in packages), "}", "}"]
    (root / "main.go").write_text("\n".join(lines) + "\n")
    subprocess.run(["go", "vet", "./..."], cwd=root, check=True)
    subprocess.run(["go", "build", "-o", "samples", "."], cwd=root, check=True)


def drop_endpoints():
    for endpoint in call("GET", "/webhook_endpoints?limit=100").json()["data"]:
        if endpoint["name"] == "CRM":
            call("DELETE", "/webhook_endpoints/" + endpoint["id"], headers={"If-Match": "*"})
    shared.pop("whe", None)


COUNTS = {"2026-11-01": 42, "2027-02-01": 44}

failed = []
for version, document in documents().items():
    samples = list(samples_of(version, document))
    operations = {sample.operation for sample in samples}
    assert len(operations) == COUNTS[version], f"{version} has {len(operations)} operations"
    subprocess.run(["rm", "-rf", str(work / "go")], check=True)
    compile_go([sample for sample in samples if sample.label == "Go"])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for sample, wrong in zip(samples, pool.map(Sample.check, samples)):
            if wrong:
                failed.append(sample.name)
                print(f"{sample.name}: {wrong}\n{sample.source}")
    drop_endpoints()
    print(f"{version}: {len(samples)} samples of {len(operations)} operations")
if failed:
    sys.exit(f"{len(failed)} samples do not do what they say: {', '.join(failed)}")
