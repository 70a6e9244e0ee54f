/** The measure for small calls: Node's own HTTP server answering constant JSON. */
import { createServer } from 'node:http'

const body = JSON.stringify({
  data: { me: { id: '00000000-0000-0000-0000-000000000000', email: 'owner@example.org' } },
})

createServer((request, response) => {
  request.resume()
  response.setHeader('content-type', 'application/json; charset=utf-8')
  response.end(body)
}).listen(Number(process.argv[2]), '127.0.0.1')
