/** Runs one command line after the other in this process, with streams and a working folder of its own for each: see `runner.ts`. */
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Command } from './runner.ts'

const [, , program = ''] = process.argv
const { run } = await import(program)

process.on('message', async ({ args, environment, cwd, input }: Command) => {
  process.chdir(cwd)
  process.env.HOME = environment.HOME
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  stdin.end(input)
  for (const [name, value] of Object.entries({ stdin, stdout, stderr }))
    Object.defineProperty(process, name, { value, configurable: true })
  const printed = Promise.all([text(stdout), text(stderr)])
  const status = await run(args, environment)
  stdout.end()
  stderr.end()
  const [out, err] = await printed
  process.send?.({ status, stdout: out, stderr: err })
})
