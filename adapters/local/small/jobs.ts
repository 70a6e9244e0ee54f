/** The work that a thread does with synchronous calls. */
import type { Entry } from '../../contract.ts'
import type { Root } from '../root.ts'

/** The size of the largest small file, in bytes. */
export const smallBytes = 64 * 1024

/** Reads a file, whole. */
export interface SmallRead {
  kind: 'read'
  root: Root
  /** The system path: see `pathOf`. */
  path: string
  name: string
  maxBytes: number
}

/** What a thread has to know to store a file. The main thread chooses the unique values. */
export interface SmallTarget {
  root: Root
  /** The system path of the folder, which exists. */
  parent: string
  name: string
  overwrite: boolean
  /** The name of the staged file. */
  stagedName: string
  /** For `uniqueTime`. */
  microseconds: number
}

/** Stores a file. */
export interface SmallWrite extends SmallTarget {
  kind: 'write'
  /** The thread gets a copy. */
  bytes: Uint8Array
  /** Undefined is now. */
  modifiedAt: Date | undefined
}

/** Copies a file with its time. */
export interface SmallCopy extends SmallTarget {
  kind: 'copy'
  from: SmallRead
}

/** Looks at one entry, of any kind. */
export interface SmallStat {
  kind: 'stat'
  root: Root
  /** The system path: see `pathOf`. */
  path: string
  name: string
}

/** Looks at entries of a directory. */
export interface SmallStats {
  kind: 'stats'
  root: Root
  /** The descriptor of the directory, which stays open until the job has ended. */
  fd: number
  /** As Latin-1, one character per byte. */
  names: readonly string[]
}

export type SmallJob = SmallRead | SmallWrite | SmallCopy | SmallStat | SmallStats

/** Returns whether the job changes the disk. */
export function isChange({ kind }: SmallJob): boolean {
  return kind === 'write' || kind === 'copy'
}

export interface SmallFile {
  entry: Entry
  bytes: Uint8Array<ArrayBuffer>
}

export interface SmallStored {
  entry: Entry
  /** Milliseconds that the disk took to sync the file and its name. */
  syncTime: number
}

/** A file was stored, but its name may not survive a power cut. */
export interface SmallFailure {
  code: string
  syscall: string
  message: string
}

export interface SmallEntries {
  /** Null for a name that is missing, is not UTF-8, or belongs to something that is not served. */
  entries: readonly (Entry | null)[]
}

/**
 * Null if the job changed nothing and the general way has to be taken. That way also finds the error to report, so a thread
 * reports none.
 */
export type SmallResult = SmallFile | SmallStored | SmallFailure | SmallEntries | null
