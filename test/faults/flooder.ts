/** Sends one request again and again over many connections, in a process of its own: see floods.test.ts. */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

const {
  url,
  token,
  method,
  path,
  headers,
  body = '',
  connections,
  isUnread,
  duration,
} = JSON.parse(await text(process.stdin))
const { port, host } = new URL(url)
const all = { Host: host, Authorization: `Bearer ${token}`, ...headers, ...(body && { 'Content-Length': body.length }) }
const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
const request = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
let isEnding = false

function open(): void {
  const socket = connect(Number(port), '127.0.0.1')
  // As many as the server accepts ahead of their responses.
  const send = () => {
    for (let n = 0; n < (isUnread ? 8 : 1); n += 1) socket.write(request)
  }
  socket.once('connect', send)
  if (isUnread) socket.pause()
  else socket.on('data', chunk => chunk.includes('HTTP/1.1 ') && send())
  socket.on('error', () => {})
  // A refused body may cost the connection.
  socket.once('close', () => isEnding || setTimeout(open, 20))
}

for (let n = 0; n < connections; n += 1) open()
setTimeout(() => {
  isEnding = true
  process.exit(0)
}, duration)
