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
export function filesOfInput(files: FileList): FileSelection {
  return {
    files: Array.from(files, file => ({ file, relativePath: file.webkitRelativePath || file.name })),
    emptyFolders: [],
  }
}

/** Reads dropped files and folders. Call this while the drop event is handled: its data is not available later. */
export function filesOfDrop(data: DataTransfer): Promise<FileSelection> {
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
