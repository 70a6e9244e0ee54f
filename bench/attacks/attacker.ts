/**
 * Runs an attack in a separate process: `node attacker.ts <name> <target as JSON>`. It prints a line when it is prepared,
 * starts with the first byte on stdin, and exits when stdin closes.
 */
import { once } from 'node:events'
import { type AttackName, attacks } from './attacks.ts'

const [name = '', target = ''] = process.argv.slice(2)
const prepare = attacks[name as AttackName]
const controller = new AbortController()
const run = await prepare(JSON.parse(target), controller.signal)
process.stdout.write('prepared\n')
await once(process.stdin, 'data')
process.stdin.resume().once('end', () => {
  controller.abort()
  process.exit()
})
await run()
