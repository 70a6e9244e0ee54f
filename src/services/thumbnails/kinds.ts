/** Decides by the name of a file which decoder can make its thumbnail, and finds the program that some need. */
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { DecoderName } from './decoder/protocol.ts'

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

/** Returns the path of a program. @param searchPath the value of PATH */
export async function findProgram(name: string, searchPath: string): Promise<string | null> {
  for (const folder of searchPath.split(delimiter)) {
    if (folder === '') continue
    const path = join(folder, name)
    const isProgram = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isProgram) return path
  }
  return null
}
