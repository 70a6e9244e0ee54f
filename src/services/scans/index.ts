/** Scans uploads for malware with clamd before they become visible. A workspace chooses whose. */
import type { Readable } from 'node:stream'
import { type CredentialKind, slotOwners, type Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import type { UnscannedReason, UploadSource } from '../../db/schema.ts'
import { findScannedUploads } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'
import { rarely } from '../../lib/rarely.ts'
import { detach } from '../../storage/body-streams.ts'
import type { Recording } from '../audit/index.ts'
import { type ClamdAddress, ClamdScan, type ClamdTimeouts, clamdVersion, ScanFailure, usualTimeouts } from './clamd.ts'
import { ScannedBody } from './scanned-body.ts'
import { type ScanSlot, ScanSlots, tooSlow } from './slots.ts'

export interface ScannerSettings {
  address: ClamdAddress
  /** Whether uploads that clamd cannot scan are stored. */
  acceptsUnscanned: boolean
}

export type ScanResult = 'CLEAN' | 'INFECTED' | UnscannedReason

/** The file of the upload will never be stored. */
export class ScanRefusal extends AppError {}

const sources: Readonly<Record<CredentialKind, UploadSource>> = {
  SHARE: 'DROP_LINKS',
  API_KEY: 'API_KEYS',
  SESSION: 'SESSIONS',
}

interface ScansOptions {
  db: Database
  /** Null without a scanner. */
  scanner: ScannerSettings | null
  timeouts?: ClamdTimeouts
  /** Called when clamd fails, once a minute at most. */
  onFailure: (error: ScanFailure) => void
  /** Called after each scan. */
  onResult: (result: ScanResult) => void
}

export type UploadScans = ReturnType<typeof createUploadScans>

export function createUploadScans(options: ScansOptions) {
  const { db, scanner, timeouts = usualTimeouts, onResult } = options
  const slots = new ScanSlots()
  const onFailure = rarely(options.onFailure)

  /** Whether uploads with this credential are scanned. */
  async function applies({ kind, member }: Viewer): Promise<boolean> {
    return scanner !== null && (await findScannedUploads(db, member.workspaceId)).includes(sources[kind])
  }

  return {
    /** Whether the server has a scanner. */
    isAvailable: scanner !== null,

    applies,

    /**
     * Returns the scan of an upload, or null if it is not scanned. Nothing is sent to clamd before the first byte.
     * @param recording gets what was found, or why nothing was scanned
     * @param onUnscanned is awaited before a file goes on that nothing has scanned
     */
    async open(
      viewer: Viewer,
      signal: AbortSignal,
      recording: Pick<Recording, 'add'>,
      onUnscanned: (reason: UnscannedReason) => Promise<void> = async () => {},
    ): Promise<UploadScan | null> {
      if (!scanner || !(await applies(viewer))) return null
      const { address, acceptsUnscanned } = scanner
      return new UploadScan({
        takeSlot: giveWay => slots.take(slotOwners(viewer), giveWay),
        connect: () => ClamdScan.begin(address, timeouts, signal),
        recording,
        acceptsUnscanned,
        onUnscanned,
        onFailure,
        onResult,
      })
    },

    /** Returns the version of clamd; null without a scanner. @throws ScanFailure */
    version: async () => scanner && (await clamdVersion(scanner.address, timeouts)),
  }
}

interface ScanContext extends Pick<ScansOptions, 'onFailure' | 'onResult'>, Pick<ScannerSettings, 'acceptsUnscanned'> {
  /** @param giveWay ends the upload; null if nobody sends the file now */
  takeSlot: (giveWay: (() => void) | null) => ScanSlot
  connect: () => Promise<Pick<ClamdScan, 'write' | 'finish'> & Disposable>
  recording: Pick<Recording, 'add'>
  onUnscanned: (reason: UnscannedReason) => Promise<void>
}

/** The scan of one file. Dispose of it when the upload ends. */
export class UploadScan implements Disposable {
  readonly #context: ScanContext
  /** Taken with the first byte. */
  #slot: ScanSlot | null = null
  #scan: Awaited<ReturnType<ScanContext['connect']>> | null = null
  /** Ends the body that passes through. */
  #giveWay: (() => void) | null = null
  #isOver = false
  #isClean = false

  constructor(context: ScanContext) {
    this.#context = context
  }

  /** Whether the whole file was scanned, and nothing was found. */
  get isClean(): boolean {
    return this.#isClean
  }

  /**
   * Passes a body on while it is scanned. The end is passed on only after the last byte was scanned, so a file whose write ends with
   * its body does not become visible before. The body then fails with INFECTED, TOO_LARGE or UNAVAILABLE.
   */
  through(body: Readable): Readable {
    const passing = new ScannedBody({
      onChunk: chunk => this.#add(chunk),
      onEnd: () => this.#end(),
      onIdle: () => this.#slot?.awaitBytes(),
    })
    this.#giveWay = () => {
      this[Symbol.dispose]()
      passing.destroy(tooSlow())
    }
    return detach(body, passing)
  }

  /** Scans a file that is stored already. @throws INFECTED, TOO_LARGE, UNAVAILABLE, as the body */
  async read(body: Readable): Promise<void> {
    try {
      for await (const chunk of body) {
        await this.#add(chunk)
        if (this.#isOver) return
      }
    } finally {
      body.destroy()
    }
    await this.#end()
  }

  async #add(chunk: Uint8Array): Promise<void> {
    if (this.#isOver || chunk.length === 0) return
    try {
      this.#slot ??= this.#context.takeSlot(this.#giveWay)
      this.#slot.add(chunk.length)
      this.#scan ??= await this.#context.connect()
      // The upload may have ended while the connection was being made.
      if (this.#isOver) this[Symbol.dispose]()
      else await this.#scan.write(chunk)
    } catch (error) {
      await this.#giveUp(error)
    }
  }

  async #end(): Promise<void> {
    // An empty file has nothing to scan.
    if (this.#isOver || !this.#scan) return
    const { recording, onResult } = this.#context
    let signature: string | null
    try {
      signature = await this.#scan.finish()
    } catch (error) {
      return this.#giveUp(error)
    }
    this[Symbol.dispose]()
    onResult(signature === null ? 'CLEAN' : 'INFECTED')
    this.#isClean = signature === null
    if (signature === null) return
    recording.add({ details: { signature } })
    const message = `The virus scanner has found "${signature}" in the file: it was not stored.`
    throw new ScanRefusal('INFECTED', message, { facts: { signature } })
  }

  /** @throws the error, unless the file is stored without a scan */
  async #giveUp(error: unknown): Promise<void> {
    this[Symbol.dispose]()
    if (!(error instanceof ScanFailure)) throw error
    const { recording, acceptsUnscanned, onUnscanned, onFailure, onResult } = this.#context
    const result = error.isTooLong ? 'TOO_LONG' : 'UNREACHABLE'
    if (!error.isTooLong || error.isGuess) onFailure(error)
    onResult(result)
    recording.add({ details: { scan: result } })
    if (acceptsUnscanned) return onUnscanned(result)
    throw refusalOf(error)
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    this.#scan?.[Symbol.dispose]()
    this.#slot?.[Symbol.dispose]()
  }
}

function refusalOf(failure: ScanFailure): AppError {
  if (!failure.isTooLong) {
    const message = 'The virus scanner does not respond, so the file was not stored: try again later.'
    return new AppError('UNAVAILABLE', message, { cause: failure })
  }
  const message = 'The file is larger than the virus scanner accepts: it was not stored.'
  if (!failure.isGuess) return new ScanRefusal('TOO_LARGE', message)
  // The upload stays, so that a client can try again after a restart of the scanner.
  const advice = 'If the scanner was just restarted, try again.'
  return new AppError('TOO_LARGE', `${message} ${advice}`, { cause: failure })
}
