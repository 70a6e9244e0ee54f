import { once } from 'node:events'
import { connect } from 'node:net'
import fastify from 'fastify'
import t from 'tap'
import { requestSignal, watchClients } from '../../src/http/connection/client-abort.ts'
import { type ServerSentEvent, sendEvents } from '../../src/http/event-stream.ts'

t.test('a client that disconnects during an event is not a fault', async t => {
  const lines: string[] = []
  const app = fastify({ logger: { level: 'debug', stream: { write: line => lines.push(line) } } })
  t.teardown(() => app.close())
  watchClients(app)
  const ended = Promise.withResolvers<void>()
  app.get('/', async (request, reply) => {
    await sendEvents(reply, events(), requestSignal(request)).finally(ended.resolve)
  })
  const address = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const client = connect(Number(address.port), address.hostname)
  t.teardown(() => client.destroy())

  async function* events(): AsyncGenerator<ServerSentEvent> {
    yield { event: 'next', data: '1' }
    await once(client, 'data')
    // The kernel knows of the reset at once, so the write fails before the server's socket reports that it has closed.
    client.resetAndDestroy()
    yield { event: 'next', data: '2' }
    yield { event: 'next', data: '3' }
  }

  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await ended.promise
  t.match(lines.join(''), 'the client disconnected during a response')
  t.notMatch(lines.join(''), /"level":50/)
})
