import { type ChildProcess, spawn } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { until } from '../support/until.ts'
import { untilParentEnds } from '../support/until-parent-ends.ts'

/**
 * Starts a server in the foreground of a process of its own, and resolves when it accepts connections.
 * @param output the file to which the output is appended
 * @throws an error with the end of the output if the server exits
 */
export async function startDaemon(
  program: string,
  args: readonly string[],
  { port, output }: { port: number; output: string },
): Promise<ChildProcess> {
  const file = await open(output, 'a')
  const server = spawn(...untilParentEnds(program, args), { stdio: ['ignore', file.fd, file.fd] })
  await file.close()
  await until(async () => {
    if (server.exitCode === null) return await accepts(port)
    throw new Error(`${program} has exited: ${(await readFile(output, 'utf8')).slice(-1000)}`)
  })
  return server
}

function accepts(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
      .once('connect', () => {
        socket.destroy()
        resolve(true)
      })
      .once('error', () => resolve(false))
  })
}
