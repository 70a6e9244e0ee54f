/** Starts two writes below the folder in argv[2] that never end, for a test to kill. */

import { localAdapter } from '../../adapters/backends/local/index.ts'
import { at, call, pattern, stalledBody } from '../../adapters/conformance/kit.ts'
import { silentHost } from './host.ts'

const root = process.argv[2] ?? ''
const provider = await localAdapter({ localRoots: [root], dataFolder: '/nowhere' }).open({ root }, silentHost)
setInterval(() => {}, 1000)
const bytes = pattern(3 * 1024 * 1024)
await Promise.all(
  ['file', 'made/up/file'].map(path => provider.write(at(path), stalledBody(bytes), { ...call(), overwrite: true })),
)
