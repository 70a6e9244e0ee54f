import { useRef } from 'react'
import { texts } from '../../texts/files.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { type FileSelection, filesOfInput } from './drop-area.tsx'

/** Other parts of the page open the same choice of files. */
const fileInputId = 'files-to-upload'

export function chooseFiles(): void {
  document.getElementById(fileInputId)?.click()
}

/** The buttons that choose files, or a folder with its files. */
export function UploadButtons(props: {
  filesText: string
  folderText: string
  onFiles: (files: FileSelection) => void
}) {
  const { filesText, folderText, onFiles } = props
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = (input: HTMLInputElement) => {
    if (input.files) onFiles(filesOfInput(input.files))
    // The input is reset so that the same files can be chosen again.
    input.value = ''
  }
  return (
    <>
      <Button variant="primary" onPress={() => files.current?.click()}>
        <Icon name="upload" />
        {filesText}
      </Button>
      <Button className="upload-folder" onPress={() => folder.current?.click()}>
        <Icon name="folder" />
        {folderText}
      </Button>
      <input
        ref={files}
        id={fileInputId}
        type="file"
        multiple
        hidden
        aria-label={texts.filesToUpload}
        onChange={event => take(event.currentTarget)}
      />
      <input
        ref={folder}
        type="file"
        hidden
        aria-label={texts.folderToUpload}
        {...{ webkitdirectory: '' }}
        onChange={event => take(event.currentTarget)}
      />
    </>
  )
}
