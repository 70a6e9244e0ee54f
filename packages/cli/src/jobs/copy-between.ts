/** Copies and moves between storages, which the server does. */
import type { schema } from '../../../client/src/index.ts'
import { needsRecursion } from '../errors.ts'
import type { RemoteOperand } from '../operand.ts'
import { display, nameOf, parentOf, type RemotePath } from '../server.ts'
import type { ConflictPolicy } from '../transfer/conflict.ts'
import { findRemoteDestination } from '../transfer/destination.ts'
import { type JobContext, runJob } from './run-job.ts'

interface BetweenStorages {
  kind: 'COPY' | 'MOVE'
  sources: readonly RemoteOperand[]
  target: RemoteOperand
}

interface BetweenOptions {
  recursive: boolean
  conflict: ConflictPolicy | undefined
  detach: boolean
}

/**
 * Copies or moves the sources in a job. A single source that gets another name is copied or moved in one request where that can do
 * what the options say.
 */
export async function copyBetweenStorages(
  context: JobContext,
  { kind, sources: operands, target: operand }: BetweenStorages,
  { recursive, conflict = 'fail', detach }: BetweenOptions,
): Promise<void> {
  const { server } = context
  const target = await server.locate(operand)
  const sources = await Promise.all(operands.map(source => server.locate(source)))
  if (kind === 'COPY' && !recursive && !(await areFiles(context, sources))) return
  const { isInto } = await findRemoteDestination(server, target, sources.length)
  const [first] = sources
  // The content of a whole storage goes directly into the target.
  const isContent = first?.path === '/'
  const isRenamed = !isInto && !isContent && first !== undefined && nameOf(first.path) !== nameOf(target.path)
  const isOneRequest = isRenamed && !detach && conflict !== 'skip' && conflict !== 'newer'
  if (isOneRequest) return transferAs(context, { kind, source: first, target, conflict })
  const folder = isInto || isContent ? target.path : parentOf(target.path)
  const input: schema.CreateJobInput = {
    kind,
    sources: sources.map(({ providerId, path }) => ({ providerId, path })),
    target: { providerId: target.providerId, path: folder },
    ...(isRenamed && { targetName: nameOf(target.path) }),
    conflict: conflict.toUpperCase() as schema.JobConflict,
  }
  await runJob(context, input, detach)
}

/** Reports the sources that are missing, or are folders. Returns whether there is none. */
async function areFiles({ server, output, signal }: JobContext, sources: readonly RemotePath[]): Promise<boolean> {
  const check = async (source: RemotePath) => {
    try {
      return (await server.stat(source)).kind === 'folder' ? { source, error: needsRecursion() } : null
    } catch (error) {
      signal.throwIfAborted()
      return { source, error }
    }
  }
  const faults = (await Promise.all(sources.map(check))).filter(fault => fault !== null)
  for (const { source, error } of faults) output.failure(error, display(source))
  return faults.length === 0
}

interface Renamed {
  kind: 'COPY' | 'MOVE'
  source: RemotePath
  target: RemotePath
  conflict: 'fail' | 'replace' | 'rename'
}

async function transferAs({ server, output }: JobContext, { kind, source, target, conflict }: Renamed): Promise<void> {
  const [field, type, verb] = kind === 'COPY' ? ['copy', 'CopyInput', 'copied'] : ['move', 'MoveInput', 'moved']
  const input = {
    providerId: source.providerId,
    path: source.path,
    toProviderId: target.providerId,
    toPath: target.path,
    conflict: conflict.toUpperCase(),
  }
  const document = `mutation Transfer($input: ${type}!) { ${field}(input: $input) { path ... on File { size } } }`
  const result = await server.graphql<Record<string, { path: string; size?: number | null }>>(document, { input })
  const { path = target.path, size = null } = result[field] ?? {}
  const [from, to] = [display(source), display({ ...target, path })]
  await output.summary({ result: verb, source: from, target: to, size }, `${from} -> ${to} ${verb}`)
}
