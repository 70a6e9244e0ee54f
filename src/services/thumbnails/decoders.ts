/** The decoders of thumbnails: their processes, and which of them can make the thumbnail of a file. */
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type DecoderBounds, DecoderProcesses } from '../decoding/processes.ts'
import type { DecoderName, ThumbnailTask } from './decoder/protocol.ts'

const decoderFile = fileURLToPath(new URL(`./decoder/process${extname(import.meta.url)}`, import.meta.url))

const defaultBounds: DecoderBounds = {
  workTime: 15_000,
  memory: 1024 * 1024 * 1024,
  read: 160 * 1024 * 1024,
  idle: 30_000,
}

export function createDecoders(bounds = defaultBounds): DecoderProcesses<ThumbnailTask, Uint8Array> {
  return new DecoderProcesses(decoderFile, bounds)
}

const extensions: Record<DecoderName, readonly string[]> = {
  image: ['jpg', 'jpeg', 'jpe', 'jfif', 'png', 'gif', 'webp', 'avif', 'tif', 'tiff', 'svg'],
  heic: ['heic', 'heif'],
  pdf: ['pdf'],
  raw: ['arw', 'cr2', 'dng', 'nef', 'nrw', 'orf', 'pef', 'raf', 'rw2', 'srw'],
  audio: ['aac', 'aif', 'aiff', 'ape', 'flac', 'm4a', 'm4b', 'mp3', 'oga', 'ogg', 'opus', 'wav', 'wma'],
  video: ['3gp', 'avi', 'm2ts', 'm4v', 'mkv', 'mov', 'mp4', 'mts', 'ts', 'webm'],
}

const byExtension = new Map(
  Object.entries(extensions).flatMap(([decoder, list]) => list.map(each => [each, decoder as DecoderName] as const)),
)

/** Returns the decoder for a file of this name; null if such files have no thumbnails. */
export function decoderFor(name: string): DecoderName | null {
  const dot = name.lastIndexOf('.')
  return dot <= 0 ? null : (byExtension.get(name.slice(dot + 1).toLowerCase()) ?? null)
}
