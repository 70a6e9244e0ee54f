import { lazy, Suspense, useMemo } from 'react'
import { loadPart } from '../../api/load-part.ts'
import type { SharedFacts, ShareLink } from '../../api/share-link.ts'
import { texts } from '../../texts/shares.tsx'
import '../../ui/dock.css'
import { UploadButtons } from '../upload/buttons.tsx'
import { DropArea } from '../upload/drop-area.tsx'
import type { FileSelection } from '../upload/dropped-files.ts'
import type { UploadTarget } from '../upload/target.ts'
import { uploadFiles, useUploadRequested } from '../upload/waiting-uploads.ts'

const UploadPanel = lazy(async () => ({ default: (await loadPart(import('../upload/panel.tsx'))).UploadPanel }))

/** Sends files through a drop link, with the upload queue of the console. */
export function DropPage({ token, link, facts }: { token: string; link: ShareLink; facts: SharedFacts }) {
  const target = useMemo(() => targetOf(link), [link])
  const wasRequested = useUploadRequested()
  const name = facts.name ?? texts.pageOf(null)
  const upload = (selection: FileSelection) => uploadFiles({ selection, providerId: '', folder: '/' })
  return (
    <DropArea isDisabled={false} folderName={name} onFiles={upload}>
      <main className="shared-drop">
        <h1>{texts.sendTo(name)}</h1>
        <p>{texts.dropHelp}</p>
        {facts.fileTypes.length > 0 && <p className="help">{texts.onlyTypes(facts.fileTypes)}</p>}
        {facts.bytesLeft !== null && <p className="help">{texts.bytesLeft(facts.bytesLeft)}</p>}
        <div className="actions">
          <UploadButtons filesText={texts.chooseFiles} folderText={texts.chooseFolder} onFiles={upload} />
        </div>
      </main>
      <Suspense>{wasRequested && <UploadPanel key={token} userId="" target={target} />}</Suspense>
    </DropArea>
  )
}

/** The addresses of uploads contain the link, so the browser does not remember them. */
function targetOf(link: ShareLink): UploadTarget {
  return {
    isRemembered: false,
    upload: ({ path, ...options }) => link.upload(path, options),
    discard: url => link.discardUpload(url),
    // A file whose name is taken gets a number.
    takeOver: async () => {},
    // Folders appear with their first file.
    createFolder: async () => {},
  }
}
