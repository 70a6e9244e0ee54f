const openXml = 'application/vnd.openxmlformats-officedocument'

/** The export formats of Google's own documents (developers.google.com/workspace/drive/api/guides/ref-export-formats). */
const exportFormats: Record<string, { mimeType: string; extension: string }> = {
  'application/vnd.google-apps.document': { mimeType: `${openXml}.wordprocessingml.document`, extension: '.docx' },
  'application/vnd.google-apps.spreadsheet': { mimeType: `${openXml}.spreadsheetml.sheet`, extension: '.xlsx' },
  'application/vnd.google-apps.presentation': {
    mimeType: `${openXml}.presentationml.presentation`,
    extension: '.pptx',
  },
  'application/vnd.google-apps.drawing': { mimeType: 'image/png', extension: '.png' },
  'application/vnd.google-apps.script': { mimeType: 'application/vnd.google-apps.script+json', extension: '.json' },
  'application/vnd.google-apps.vid': { mimeType: 'video/mp4', extension: '.mp4' },
}

/** Returns the type of a document's export; undefined for documents without an export: Forms, Maps, Sites. */
export function exportTypeOf(mimeType: string): string | undefined {
  return exportFormats[mimeType]?.mimeType
}

/** Returns the extension with its dot; the empty string for a file with stored bytes. */
export function extensionOf(mimeType: string): string {
  return exportFormats[mimeType]?.extension ?? ''
}

export const extensions: readonly string[] = [...new Set(Object.values(exportFormats).map(format => format.extension))]
