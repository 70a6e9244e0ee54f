#!/usr/bin/env node
// Before anything else is loaded: an older Node crashes in the native modules instead of saying why.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `Stowage needs Node.js 22.18 or newer; this is ${process.versions.node}. "npm start" brings its own.\n`,
  )
  process.exit(1)
}

const { run } = await import('./cli.ts')
process.exitCode = await run(process.argv.slice(2))

export {}
