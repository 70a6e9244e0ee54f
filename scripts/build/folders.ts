/** The common parts of the builds of the console and of the server. */
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Fills a folder beside `destination` and replaces `destination` with it at once. */
export async function replaceFolder(destination: string, fill: (folder: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(destination), { recursive: true })
  const made = await mkdtemp(join(dirname(destination), '.dist-'))
  try {
    await fill(made)
    // Another user than the builder may run the server.
    await chmod(made, 0o755)
    await rm(destination, { recursive: true, force: true })
    // If two processes build at once, the second keeps the build of the first.
    await rename(made, destination).catch(error => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(made, { recursive: true, force: true })
  }
}
