/**
 * An attack in a process of its own: `node attacker.ts <name, or nothing for harmless requests> <target as JSON>`. Prints a
 * line once it is prepared and begins with the first byte on stdin; ends with stdin.
 */
import { once } from 'node:events'
import { type AttackName, attacks, harmless } from './attacks.ts'

const [name = '', target = ''] = process.argv.slice(2)
const prepare = name === '' ? harmless : attacks[name as AttackName]
const controller = new AbortController()
const run = await prepare(JSON.parse(target), controller.signal)
process.stdout.write('prepared\n')
await once(process.stdin, 'data')
process.stdin.resume().once('end', () => {
  controller.abort()
  process.exit()
})
await run()
