import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isNight } from './extent.ts'

const shared = '/dev/shm'
/** Bytes: many times what the clusters of a run need. */
const neededBytes = 2 * 1024 ** 3

/** A folder in memory where the machine has a tmpfs, and the usual temporary folder elsewhere. */
export function memoryFolder(): string {
  try {
    accessSync(shared, constants.W_OK)
    return shared
  } catch {
    return tmpdir()
  }
}

/**
 * The folder for the database clusters of tests. It is in memory, where creating a cluster takes half the processor time, unless there is
 * too little room. Nightly tests use the disk.
 */
export const clusterFolder = isNight || !hasRoom() ? tmpdir() : memoryFolder()

function hasRoom(): boolean {
  const { bavail, bsize } = statfsSync(memoryFolder())
  return bavail * bsize >= neededBytes
}
