/** Writes the names of the modules of the MCP library to stderr as they are loaded: `node --import loaded-modules.ts`. */
import { registerHooks } from 'node:module'

registerHooks({
  load(url, context, next) {
    if (/node_modules\/(?:@modelcontextprotocol|zod|express|hono)\//.test(url)) process.stderr.write(`${url}\n`)
    return next(url, context)
  },
})
