/**
 * The viewers. To add one, write a file that exports a `Viewer`, and add it here and to the kinds of `file-types.ts`. Its code loads when
 * the first file needs it.
 */
import { lazyPart } from '../../lib/load-part.ts'
import type { PreviewKind } from './file-types.ts'
import type { Viewer, ViewerProps } from './viewer.ts'

interface KnownViewer {
  load: () => Promise<Viewer>
  View: ReturnType<typeof lazyPart<ViewerProps>>
  /** Whether it stays while files of its kind follow each other. */
  stays: boolean
}

function viewer(load: () => Promise<Viewer>, stays = false): KnownViewer {
  return { load, View: lazyPart<ViewerProps>(load), stays }
}

export const viewers: Readonly<Record<PreviewKind, KnownViewer>> = {
  image: viewer(async () => (await import('./viewers/image.tsx')).ImageViewer),
  video: viewer(async () => (await import('./viewers/video.tsx')).VideoViewer),
  audio: viewer(async () => (await import('./viewers/audio.tsx')).AudioViewer, true),
  pdf: viewer(async () => (await import('./viewers/pdf/viewer.tsx')).PdfViewer),
  table: viewer(async () => (await import('./viewers/table.tsx')).TableViewer),
  text: viewer(async () => (await import('./viewers/text.tsx')).TextViewer),
  office: viewer(async () => (await import('./viewers/office.tsx')).OfficeViewer),
  book: viewer(async () => (await import('./viewers/book/viewer.tsx')).BookViewer),
  archive: viewer(async () => (await import('./viewers/archive/viewer.tsx')).ArchiveViewer),
  font: viewer(async () => (await import('./viewers/font.tsx')).FontViewer),
}
