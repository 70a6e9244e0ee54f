import { type DragEvent, type ReactNode, useRef, useState } from 'react'
import { texts } from '../../texts/files.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { notify } from '../../ui/toasts.tsx'

/** Other parts of the page open the same choice of files. */
const fileInputId = 'files-to-upload'

export function chooseFiles(): void {
  document.getElementById(fileInputId)?.click()
}

/** The input that `chooseFiles` opens. Each page has one, by itself or with the buttons. */
export function UploadInput({ onFiles }: { onFiles: (files: FileSelection) => void }) {
  return (
    <input
      id={fileInputId}
      type="file"
      multiple
      hidden
      aria-label={texts.filesToUpload}
      onChange={({ currentTarget }) => takeFiles(currentTarget, onFiles)}
    />
  )
}

/** Passes on what a person has chosen. The input is reset so that the same files can be chosen again. */
export function takeFiles(input: HTMLInputElement, onFiles: (files: FileSelection) => void): void {
  if (input.files) onFiles(filesOfInput(input.files))
  input.value = ''
}

/** The buttons that choose files, or a folder with its files. */
export function UploadButtons(props: {
  filesText: string
  folderText: string
  onFiles: (files: FileSelection) => void
}) {
  const { filesText, folderText, onFiles } = props
  const folder = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button variant="primary" onPress={chooseFiles}>
        <Icon name="upload" />
        {filesText}
      </Button>
      <Button className="upload-folder" onPress={() => folder.current?.click()}>
        <Icon name="upload-folder" />
        {folderText}
      </Button>
      <UploadInput onFiles={onFiles} />
      <input
        ref={folder}
        type="file"
        hidden
        aria-label={texts.folderToUpload}
        {...{ webkitdirectory: '' }}
        onChange={({ currentTarget }) => takeFiles(currentTarget, onFiles)}
      />
    </>
  )
}

const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes('Files')

/** Accepts files and folders that are dropped anywhere inside. The upload buttons do the same without a pointer. */
export function DropArea({
  isDisabled,
  folderName,
  onFiles,
  children,
}: {
  isDisabled: boolean
  folderName: string
  onFiles: (files: FileSelection) => void
  children: ReactNode
}) {
  // Browsers report that the next element is entered before the previous one is left, so the depth is counted.
  const depth = useRef(0)
  const [isOver, setOver] = useState(false)
  const leave = () => {
    depth.current = Math.max(0, depth.current - 1)
    if (depth.current === 0) setOver(false)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the upload buttons do the same
    <div
      className="drop-area"
      onDragEnter={event => {
        if (isDisabled || !hasFiles(event)) return
        depth.current += 1
        setOver(true)
      }}
      onDragOver={event => {
        if (!isDisabled && hasFiles(event)) event.preventDefault()
      }}
      onDragLeave={leave}
      onDrop={event => {
        if (isDisabled || !hasFiles(event)) return
        event.preventDefault()
        depth.current = 0
        setOver(false)
        filesOfDrop(event.dataTransfer).then(onFiles, () => notify(texts.dropFailed))
      }}
    >
      {children}
      {isOver && (
        <div className="drop-sign" aria-hidden="true">
          {texts.dropInto(folderName)}
        </div>
      )}
    </div>
  )
}

interface SelectedFile {
  file: File
  /** The path below the folder to upload to, such as "photos/2026/a.jpg". */
  relativePath: string
}

/** Files and folders that a person chose or dropped. */
export interface FileSelection {
  files: SelectedFile[]
  /** Paths of folders without entries. All other folders are created by the files in them. */
  emptyFolders: string[]
}

/** Reads the files of an `<input type="file">`, with or without `webkitdirectory`. */
function filesOfInput(files: FileList): FileSelection {
  return {
    files: Array.from(files, file => ({ file, relativePath: file.webkitRelativePath || file.name })),
    emptyFolders: [],
  }
}

/** Reads dropped files and folders. Call this while the drop event is handled: its data is not available later. */
function filesOfDrop(data: DataTransfer): Promise<FileSelection> {
  const selection: FileSelection = { files: [], emptyFolders: [] }
  const entries = Array.from(data.items, item => item.webkitGetAsEntry()).filter(entry => entry !== null)
  return Promise.all(entries.map(entry => collect(entry, '', selection))).then(() => selection)
}

async function collect(entry: FileSystemEntry, parent: string, selection: FileSelection): Promise<void> {
  const relativePath = parent + entry.name
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    selection.files.push({ file, relativePath })
    return
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  let isEmpty = true
  // Each call returns about a hundred entries, and an empty array at the end.
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (batch.length === 0) break
    isEmpty = false
    for (const child of batch) await collect(child, `${relativePath}/`, selection)
  }
  if (isEmpty) selection.emptyFolders.push(relativePath)
}
