/** Files as people give them to a page, with where they stand below what was given. */

export interface GivenFile {
  file: File
  /** "photos/2026/a.jpg", or "a.jpg" alone. */
  relativePath: string
}

export interface Given {
  files: GivenFile[]
  /** Without anything in them; else files bring their folders along. */
  emptyFolders: string[]
}

/** Of an `<input type="file">`, with or without `webkitdirectory`. */
export function filesOfInput(files: FileList): Given {
  return {
    files: Array.from(files, file => ({ file, relativePath: file.webkitRelativePath || file.name })),
    emptyFolders: [],
  }
}

/** Folders with all that is in them. The entries have to be taken while the event is handled. */
export function filesOfDrop(data: DataTransfer): Promise<Given> {
  const given: Given = { files: [], emptyFolders: [] }
  const entries = Array.from(data.items, item => item.webkitGetAsEntry()).filter(entry => entry !== null)
  return Promise.all(entries.map(entry => gather(entry, '', given))).then(() => given)
}

async function gather(entry: FileSystemEntry, parent: string, given: Given): Promise<void> {
  const relativePath = parent + entry.name
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    given.files.push({ file, relativePath })
    return
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  let isEmpty = true
  // Each call reads some hundred of them; none is the end.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) break
    isEmpty = false
    for (const child of some) await gather(child, `${relativePath}/`, given)
  }
  if (isEmpty) given.emptyFolders.push(relativePath)
}
