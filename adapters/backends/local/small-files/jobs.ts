/** The work that a thread does with synchronous calls. */
import type { Entry } from '../../../contract.ts'
import type { Root } from '../open.ts'

/** The size of the largest small file, in bytes. */
export const smallBytes = 64 * 1024

/** Milliseconds. A disk that syncs more slowly syncs several files at once better in the thread pool of libuv. */
export const slowSync = 0.5

/** Reads a file, whole. */
export interface SmallRead {
  kind: 'read'
  root: Root
  /** The system path: see `pathOf`. */
  path: string
  name: string
  maxBytes: number
}

/** The facts that a thread needs to store a file. The main thread chooses the unique values. */
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

/** Copies files of one folder into another under the same names, with their times. Each name has to be free. */
export interface SmallCopies {
  kind: 'copies'
  root: Root
  /** The system paths of the folders, which exist. */
  from: string
  to: string
  names: readonly string[]
  /** The names of the staged files begin with this. */
  stagedName: string
  /** For `uniqueTime`. */
  microseconds: number
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

/** Lists a directory of at most `limit` entries, all of whose names are UTF-8. */
export interface SmallList {
  kind: 'list'
  root: Root
  /** The system path: see `pathOf`. */
  path: string
  limit: number
}

export type SmallJob = SmallRead | SmallWrite | SmallCopy | SmallCopies | SmallStat | SmallStats | SmallList

/** Returns whether the job changes the disk. */
export function isChange({ kind }: SmallJob): boolean {
  return kind === 'write' || kind === 'copy' || kind === 'copies'
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

/** The copies of the first files. The thread leaves the others to the next job, so that no other caller waits long. */
export interface SmallCopied {
  /** Null for a file that was not copied. */
  copies: readonly (Entry | null)[]
  /** Milliseconds that the disk took to sync a file, on average. */
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
export type SmallResult = SmallFile | SmallStored | SmallCopied | SmallFailure | SmallEntries | null
