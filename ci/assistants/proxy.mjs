// A proxy that adds an API key to the requests of the conformance suite, which sends none. It prints its port.
import http from 'node:http'
import { address, keys } from './journey.mjs'

const server = http.createServer((asked, answer) => {
  const headers = { ...asked.headers, authorization: `Bearer ${keys.full}` }
  const own = `${server.address().address}:${server.address().port}`
  if (headers.host === own) headers.host = address.host
  if (headers.origin === `http://${own}`) headers.origin = address.origin
  const sent = http.request({ host: address.hostname, port: address.port, path: asked.url, method: asked.method, headers }, (got) => {
    answer.writeHead(got.statusCode, got.headers)
    got.pipe(answer)
  })
  asked.pipe(sent)
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
