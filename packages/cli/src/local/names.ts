import { randomBytes } from 'node:crypto'
import { unsafeName } from '../errors.ts'

const draft = /^\.stowage-[0-9a-f]{16}\.part$/

/** Returns the name of a file that is being downloaded. */
export function draftName(): string {
  return `.stowage-${randomBytes(8).toString('hex')}.part`
}

export function isDraft(name: string): boolean {
  return draft.test(name)
}

/** Returns whether a name from a server can become part of a local path, so that no server writes outside the target folder. */
export function isSafeName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name) && !isDraft(name)
}

/** @throws CommandError if the name is not safe */
export function requireSafeName(name: string): string {
  if (isSafeName(name)) return name
  throw unsafeName(name)
}

/** Yields a name, then its numbered variants: "name (1).txt" to "name (999).txt". */
export function* candidateNames(name: string, kind: 'file' | 'folder'): Generator<string, void, undefined> {
  yield name
  const dot = kind === 'file' ? name.lastIndexOf('.') : -1
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  for (let number = 1; number <= 999; number += 1) yield `${stem} (${number})${ending}`
}
