#!/usr/bin/env node
// Check the version before other modules load, because native modules crash an older Node without an explanation.
const oldestMajor = 24
if (Number.parseInt(process.versions.node, 10) < oldestMajor) {
  process.stderr.write(
    `Stowage needs Node.js ${oldestMajor} or newer; this is ${process.versions.node}. In a clone of the repository, "npm start" brings its own.\n`,
  )
  process.exit(1)
}

const { run } = await import('./start/cli.ts')
process.exitCode = await run(process.argv.slice(2))

export {}
