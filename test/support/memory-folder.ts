import { accessSync, constants } from 'node:fs'
import { tmpdir } from 'node:os'

/** A folder in memory where the machine has a tmpfs, and the usual temporary folder elsewhere. */
export function memoryFolder(): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    return '/dev/shm'
  } catch {
    return tmpdir()
  }
}
