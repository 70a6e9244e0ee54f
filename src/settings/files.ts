/** Reads secrets from files, as Docker and Kubernetes provide them. */
import { closeSync, openSync, readSync } from 'node:fs'

/** Bytes. */
const maxSize = 64 * 1024

/** The settings whose value can be in a file, which NAME_FILE names. */
export const fileSettings = [
  'DATABASE_URL',
  'STOWAGE_SECRET',
  'STOWAGE_SECRET_PREVIOUS',
  'STOWAGE_SETUP_CODE',
  'STOWAGE_SMTP_URL',
] as const

/**
 * Returns the value of a setting: its own, or the content of the file, without white space around it.
 * @throws Error with the rest of the sentence "NAME_FILE must ..."
 */
export function valueOrFile(environment: Record<string, string | undefined>, name: string): string | undefined {
  const own = environment[name]?.trim()
  const file = isFileSetting(name) ? environment[`${name}_FILE`]?.trim() : undefined
  if (!file) return own
  if (own) throw new Error(`be unset, because ${name} is set`)
  const text = readAtStart(file)
  if (text === '') throw new Error(`name a file that is not empty, not "${file}"`)
  return text
}

export function isFileSetting(name: string): boolean {
  return (fileSettings as readonly string[]).includes(name)
}

/** Synchronous, because nothing else can happen before the settings are known. */
function readAtStart(file: string): string {
  try {
    const descriptor = openSync(file, 'r')
    try {
      const buffer = Buffer.alloc(maxSize + 1)
      const size = readSync(descriptor, buffer)
      if (size <= maxSize) return buffer.toString('utf8', 0, size).trim()
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : cause
    throw new Error(`name a file that this user can read, not "${file}" (${code})`, { cause })
  }
  throw new Error(`name a file of at most ${maxSize} bytes, not "${file}"`)
}
