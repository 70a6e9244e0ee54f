import { Suspense } from 'react'
import { lazyPart } from '../../lib/load-part.ts'
import { formatBytes, formatMinute } from '../../texts/format.ts'
import { texts } from '../../texts/viewers.ts'
import { Facts } from './facts.tsx'
import type { ViewedFile } from './viewer.ts'

const PhotoInformation = lazyPart(async () => (await import('./photo/photo-information.tsx')).PhotoInformation)

/** Shows the facts of a file: those that its listing contains, and for a photo those that the camera has stored in it. */
export function Information({ file, path }: { file: ViewedFile; path: string }) {
  const { name, modifiedAt, size, mimeType } = file
  const facts: [string, string | null][] = [
    [texts.name, name],
    [texts.path, path],
    [texts.modified, modifiedAt && formatMinute(modifiedAt)],
    [texts.size, size === null ? null : texts.exactSize(formatBytes(size), size)],
    [texts.type, mimeType],
  ]
  return (
    <>
      <Facts facts={facts} />
      <Suspense>{file.kind === 'image' && <PhotoInformation file={file} />}</Suspense>
    </>
  )
}
