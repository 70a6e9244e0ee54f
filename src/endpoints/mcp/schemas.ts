/** The arguments and results that several tools have. */
import { z } from 'zod'
import { formatPath } from '../../auth/path.ts'
import type { JobRecord } from '../../db/jobs/record.ts'
import { conflictBehaviors, type FileEntry } from '../../services/files/index.ts'

export const providerId = z.string().describe('The ID of a provider, from list_providers')
export const path = z.string().describe('Absolute path within the provider, such as /team/a.txt')
export const conflict = z
  .enum(conflictBehaviors)
  .describe('If the name is taken: FAIL, REPLACE the existing entry, or RENAME to the next free name')

/** An entry as lists show it. */
const listed = {
  kind: z.enum(['FILE', 'FOLDER']),
  size: z.number().nullable().describe('Bytes'),
  modifiedAt: z.string().nullable(),
}
export const listedByName = z.object({ name: z.string(), ...listed })
export const listedByPath = z.object({ path: z.string(), ...listed })

export function toListed({ kind, size, modifiedAt }: FileEntry): Omit<z.infer<typeof listedByName>, 'name'> {
  return { kind: kind === 'file' ? 'FILE' : 'FOLDER', size, modifiedAt: modifiedAt?.toISOString() ?? null }
}

export function toListedByPath(entry: FileEntry): z.infer<typeof listedByPath> {
  return { path: formatPath(entry.path), ...toListed(entry) }
}

/** A job that a tool has created. */
export const startedJob = z
  .object({ id: z.string(), state: z.string() })
  .nullable()
  .describe('The job that does the work; null if the work is done')

export function toStartedJob({ id, state }: JobRecord): z.infer<typeof startedJob> {
  return { id, state }
}
