/**
 * Preloaded into a server: on SIGUSR2 it writes the bytes of the modules loaded so far and the bytes of the
 * heap after a collection to $FOOTPRINT. It is JavaScript, so that it loads nothing itself.
 */
import { renameSync, statSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const loaded = new Set()
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) loaded.add(fileURLToPath(url))
    return next(url, context)
  },
})

process.on('SIGUSR2', () => {
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  const codeBytes = [...loaded].reduce((sum, file) => sum + statSync(file).size, 0)
  const file = process.env.FOOTPRINT
  writeFileSync(`${file}.new`, JSON.stringify({ codeBytes, heapBytes: heapUsed + external }))
  renameSync(`${file}.new`, file)
})
