import { lazy, Suspense, useMemo, useRef } from 'react'
import { loadPart } from '../../api/load-part.ts'
import type { SharedFacts, ShareLink } from '../../api/share-link.ts'
import { texts as fileTexts } from '../../texts/files.tsx'
import { texts } from '../../texts/shares.tsx'
import { Button } from '../../ui/button.tsx'
import '../../ui/dock.css'
import { Icon } from '../../ui/icons.tsx'
import { DropArea } from '../upload/drop-area.tsx'
import { type FileSelection, filesOfInput } from '../upload/dropped-files.ts'
import type { UploadTarget } from '../upload/target.ts'
import { uploadFiles, useUploadRequested } from '../upload/waiting-uploads.ts'

const UploadPanel = lazy(async () => ({ default: (await loadPart(import('../upload/panel.tsx'))).UploadPanel }))

/** Sends files through a drop link, with the upload queue of the console. */
export function DropPage({ token, link, facts }: { token: string; link: ShareLink; facts: SharedFacts }) {
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const target = useMemo(() => targetOf(link), [link])
  const wasRequested = useUploadRequested()
  const name = facts.name ?? texts.pageOf(null)
  const upload = (selection: FileSelection) => uploadFiles({ selection, providerId: '', folder: '/' })
  const take = (input: HTMLInputElement) => {
    if (input.files) upload(filesOfInput(input.files))
    // The input is reset so that the same files can be chosen again.
    input.value = ''
  }
  return (
    <DropArea isDisabled={false} folderName={name} onFiles={upload}>
      <main className="shared-drop">
        <h1>{texts.sendTo(name)}</h1>
        <p>{texts.dropHelp}</p>
        {facts.fileTypes.length > 0 && <p className="help">{texts.onlyTypes(facts.fileTypes)}</p>}
        {facts.bytesLeft !== null && <p className="help">{texts.bytesLeft(facts.bytesLeft)}</p>}
        <div className="actions">
          <Button variant="primary" onPress={() => files.current?.click()}>
            <Icon name="upload" />
            {texts.chooseFiles}
          </Button>
          <Button className="upload-folder" onPress={() => folder.current?.click()}>
            <Icon name="folder" />
            {texts.chooseFolder}
          </Button>
        </div>
        <input
          ref={files}
          type="file"
          multiple
          hidden
          aria-label={fileTexts.filesToUpload}
          onChange={event => take(event.currentTarget)}
        />
        <input
          ref={folder}
          type="file"
          hidden
          aria-label={fileTexts.folderToUpload}
          {...{ webkitdirectory: '' }}
          onChange={event => take(event.currentTarget)}
        />
      </main>
      {wasRequested && (
        <Suspense>
          <UploadPanel key={token} userId="" target={target} />
        </Suspense>
      )}
    </DropArea>
  )
}

/** The addresses of uploads contain the link, so the browser does not remember them. */
function targetOf(link: ShareLink): UploadTarget {
  return {
    isRemembered: false,
    upload: ({ path, ...options }) => link.upload(path, options),
    discard: url => link.discardUpload(url),
    // Folders appear with their first file.
    createFolder: async () => {},
  }
}
