import { Suspense } from 'react'
import { common } from '../../texts/common.ts'
import { Loading } from '../../ui/loading.tsx'
import { FileCard } from './file-card.tsx'
import { viewerKind } from './file-types.ts'
import type { ViewerProps } from './viewer.ts'
import { viewers } from './viewers.tsx'

/** Shows a file in the viewer for its type, or as a card. */
export function ContentView(props: ViewerProps) {
  const { file, onDownload } = props
  const kind = viewerKind(file)
  if (kind === null) return <FileCard file={file} onDownload={onDownload} />
  const { View, stays } = viewers[kind]
  return (
    <Suspense fallback={<Loading label={common.loading} />}>
      <View key={stays ? kind : file.id} {...props} />
    </Suspense>
  )
}
