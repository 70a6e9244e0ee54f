/** Decides by the name and the type of a file which viewer shows it: see `viewers.tsx`. */

/** An entry as far as its name and type tell what it holds. */
export type TypedEntry =
  | { __typename: 'Folder'; name: string }
  | { __typename: 'File'; name: string; mimeType: string | null }

interface TypedFile {
  /** In lower case. */
  name: string
  /** The media type in lower case; empty if it is unknown. */
  type: string
}

const textExtension =
  /\.(?:txt|md|markdown|log|json|jsonl|ya?ml|toml|ini|conf|cfg|env|xml|html?|svg|css|scss|[cm]?[jt]sx?|py|rb|go|rs|java|kt|c|h|cc|cpp|hpp|cs|php|sh|bash|zsh|sql|graphql|proto|tex|diff|patch|lock|gitignore)$/
const textType =
  /^(?:text\/|application\/(?:json|xml|yaml|toml|javascript|sql|graphql|x-sh|x-yaml|[\w.-]+\+(?:json|xml))\b)/
const textFileName = /^(?:readme|licen[cs]e|makefile|dockerfile|changelog)$/

/** The viewers, in the order in which they are asked whether they show a file. */
const previewKinds = [
  [
    'image',
    ({ name, type }) =>
      /^image\/(?!svg|vnd)/.test(type) || /\.(?:hei[cf]|tiff?|dng|cr2|nef|nrw|arw|orf|raf|rw2|pef|srw)$/.test(name),
  ],
  ['video', ({ name, type }) => type.startsWith('video/') && !name.endsWith('.ts')],
  ['audio', ({ type }) => type.startsWith('audio/')],
  ['pdf', ({ type }) => type.startsWith('application/pdf')],
  ['table', ({ name, type }) => /\.(?:csv|tsv)$/.test(name) || /^text\/(?:csv|tab-separated-values)\b/.test(type)],
  [
    'text',
    // Images that can run scripts are shown as text.
    ({ name, type }) =>
      textType.test(type) || type === 'image/svg+xml' || textExtension.test(name) || textFileName.test(name),
  ],
  ['office', ({ name }) => /\.(?:docx?|docm|dotx?|od[tsp]|ot[tsp]|rtf|xls[xmb]?|ppt[xm]?|ppsx?)$/.test(name)],
  ['book', ({ name }) => name.endsWith('.epub')],
  ['archive', ({ name }) => /\.(?:zip|jar|apk|cbz|tar|tgz|tar\.gz)$/.test(name)],
  ['font', ({ name }) => /\.(?:ttf|otf|woff2?)$/.test(name)],
] as const satisfies readonly (readonly [kind: string, shows: (file: TypedFile) => boolean])[]

export type PreviewKind = (typeof previewKinds)[number][0]

/** Returns the kind of the viewer of a file; null if it has none. */
export function viewerKind({ name, mimeType }: { name: string; mimeType: string | null }): PreviewKind | null {
  const file = { name: name.toLowerCase(), type: mimeType?.toLowerCase() ?? '' }
  return previewKinds.find(([, shows]) => shows(file))?.[0] ?? null
}

/** Returns how an entry can be viewed; null if it cannot. */
export function previewKind(entry: TypedEntry): PreviewKind | null {
  return entry.__typename === 'File' ? viewerKind(entry) : null
}
