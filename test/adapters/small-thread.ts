/** A thread that accesses no files: the name of each job says what the thread does. */
import { parentPort } from 'node:worker_threads'

interface Order {
  name: string
  gate?: Int32Array
}

parentPort?.on('message', (orders: Order[]) => {
  for (const { name, gate } of orders) {
    if (name === 'die') process.exit(1)
    if (name === 'hang' && gate) Atomics.wait(gate, 0, 0)
  }
  parentPort?.postMessage(orders.map(({ name }) => ({ entry: { name }, bytes: new Uint8Array() })))
})
parentPort?.postMessage(null)
