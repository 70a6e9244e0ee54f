/** The programs of the system that some decoders need. */
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

async function findProgram(name: string, searchPath: string): Promise<string | null> {
  for (const folder of searchPath.split(delimiter)) {
    if (folder === '') continue
    const path = join(folder, name)
    const isProgram = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isProgram) return path
  }
  return null
}

/** Returns a function that looks for a program once, when it is first called. @param searchPath the value of PATH */
export function programFinder(name: string, searchPath: string): () => Promise<string | null> {
  let searching: Promise<string | null> | undefined
  return () => {
    searching ??= findProgram(name, searchPath)
    return searching
  }
}

/**
 * Runs a program in a decoder process, whose end is also the end of the program. Returns what the program writes.
 * @param options.maxOutput bytes
 * @param options.input what the program reads. Default: nothing
 * @throws Error if it fails, or writes nothing
 */
export function runProgram(
  program: string,
  parameters: readonly string[],
  options: { maxOutput: number; env?: Record<string, string>; input?: Uint8Array },
): Promise<Buffer> {
  const { maxOutput: maxBuffer, env = {}, input } = options
  return new Promise((resolve, reject) => {
    const child = execFile(program, parameters, { encoding: 'buffer', maxBuffer, env }, (error, stdout, stderr) => {
      if (error || stdout.length === 0)
        reject(new Error(stderr.toString('utf8', 0, 500) || `${program} wrote nothing.`))
      else resolve(stdout)
    })
    // A program may end before it has read everything.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}
