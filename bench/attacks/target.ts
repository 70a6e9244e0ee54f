/** Starts a server like an operator would, with an owner and a local provider. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { client, password } from '../../test/support/client.ts'
import { startProgram, temporaryFolder } from '../../test/support/program.ts'
import type { Target } from './attacks.ts'

export interface Server {
  target: Target
  pid: number
  /** The email of the owner. */
  owner: string
  stop(): Promise<unknown>
}

/**
 * @param size the size of the attacks
 * @param environment uses the embedded database unless it sets DATABASE_URL
 */
export async function startTarget(
  t: Pick<Test, 'teardown'>,
  size: Pick<Target, 'files' | 'connections'>,
  environment: Record<string, string> = {},
): Promise<Server> {
  const folder = await temporaryFolder(t)
  const root = join(folder, 'files')
  await mkdir(root)
  await writeFile(join(root, 'small.txt'), 'small')
  const program = await startProgram(t, {
    environment: {
      PORT: '0',
      STOWAGE_DATA: join(folder, 'data'),
      STOWAGE_LOCAL_ROOTS: root,
      LOG_LEVEL: 'warn',
      ...environment,
    },
  })
  const { url } = program
  const api = client(url)
  const owner = 'owner@example.org'
  const { token } = await api.register(owner)
  const local = await api.connectProvider(token, 'local', { root })
  return {
    target: { url, token, password, local, root, ...size },
    pid: program.process.pid ?? 0,
    owner,
    stop: () => program.stop(),
  }
}
