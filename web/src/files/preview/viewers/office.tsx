import { texts } from '../../../texts/viewers.ts'
import { FileCard } from '../file-card.tsx'
import { contentKey, type ViewerProps } from '../viewer.ts'
import { PdfView } from './pdf/viewer.tsx'

/** Shows an office document as the PDF document that the server makes of it, or a card where it makes none. */
export function OfficeViewer({ file, onDownload }: ViewerProps) {
  const { rendition } = file
  if (rendition === null) return <FileCard file={file} onDownload={onDownload} />
  return (
    <PdfView
      key={contentKey(file).join()}
      file={file}
      size={null}
      read={(_range, signal) => rendition(signal)}
      label={texts.converting}
      onDownload={onDownload}
    />
  )
}
