import { Readable } from 'node:stream'
import t from 'tap'
import { writeWithTimeout } from '../../src/storage/transfer-timeouts.ts'

t.test('a write that waits for other work stalls only when it goes on', async t => {
  let asked = 0
  // Asked four times in each timeout.
  const isPaused = () => {
    asked += 1
    return asked <= 40
  }
  const body = Readable.from(['chunk'])
  const stalled = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const { signal } = new AbortController()
  // The timers of a transfer do not keep a process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const writing = writeWithTimeout(signal, body, { transfer: 20, step: 20 }, stalled, { size: 5, isPaused })
  await t.rejects(writing, { message: /Nothing moved/ })
  t.ok(asked > 40)
})
