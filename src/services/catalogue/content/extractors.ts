/** The processes that extract text, and what the server takes from them. */
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type DecoderBounds, DecoderProcesses, type ReadOriginal, Undecodable } from '../../decoding/processes.ts'
import { type Extracted, type ExtractTask, maxText, maxVector } from './extractor/protocol.ts'

const extractorFile = fileURLToPath(new URL(`./extractor/process${extname(import.meta.url)}`, import.meta.url))

const defaultBounds: DecoderBounds = {
  workTime: 90_000,
  memory: 1024 * 1024 * 1024,
  read: 64 * 1024 * 1024,
  idle: 30_000,
}

export class Extractors {
  readonly #processes: DecoderProcesses<ExtractTask, unknown>

  constructor(bounds: Partial<DecoderBounds> = {}) {
    this.#processes = new DecoderProcesses(extractorFile, { ...defaultBounds, ...bounds })
  }

  /** @throws Undecodable if the file has no text that can be read; what `read` throws; the reason of the signal */
  async run(task: ExtractTask, read: ReadOriginal, signal: AbortSignal): Promise<Extracted> {
    const result = await this.#processes.run(task, read, signal)
    // A file may have taken the process over.
    if (isExtracted(result)) return result
    throw new Undecodable('The result of the process is invalid.')
  }

  close(): void {
    this.#processes.close()
  }
}

function isExtracted(result: unknown): result is Extracted {
  if (typeof result !== 'object' || result === null || !('text' in result) || !('words' in result)) return false
  const { text, words } = result
  const areTexts = typeof text === 'string' && typeof words === 'string'
  return (
    areTexts && text.length <= maxText && words.length <= maxVector && !text.includes('\0') && !words.includes('\0')
  )
}
