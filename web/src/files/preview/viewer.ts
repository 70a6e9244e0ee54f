/** The properties of a viewer. It does not know whether a session, an earlier version or a share link opens the file. */
import { useQuery } from '@tanstack/react-query'
import type { ComponentType } from 'react'
import type { StorageLocation } from '../../api/locations.ts'

/** A part of the content of a file, or all of it. */
export interface Content {
  body: ReadableStream<Uint8Array>
  /** Bytes of the whole file; null if the back end does not report it. */
  fileSize: number | null
  /** The version that is read; null if the back end has no versions. */
  etag: string | null
}

export interface NamedFile {
  name: string
  mimeType: string | null
}

export interface ViewedFile extends NamedFile {
  /** The viewer that shows it; null if there is none. */
  kind: string | null
  /** Bytes; null if the back end does not report it. */
  size: number | null
  modifiedAt: string | null
  /** Identifies the file, and stays the same when its content changes. */
  id: string
  /** @throws StowageError */
  read: (range: { start: number; end?: number } | null, signal: AbortSignal) => Promise<Content>
  /** Returns an address of the content for elements of the page. @throws StowageError */
  link: (signal: AbortSignal) => Promise<string>
  /** Returns the address of an image of the file; null if there is none. @param pixels the longest side, up to 1,024 */
  picture: (pixels: number) => string | null
  /** Reads the PDF document that the server makes of an office document; null where it makes none. @throws StowageError */
  rendition: ((signal: AbortSignal) => Promise<Content>) | null
}

/** The files beside the file, for viewers that go on to the next one. */
export interface Neighbors {
  files: readonly ViewedFile[]
  show: (name: string) => void
}

export interface ViewerProps {
  file: ViewedFile
  /** Null where only one file is shown. */
  neighbors: Neighbors | null
  /** Null for a file that this page does not change. */
  editing: {
    location: StorageLocation
    /** Whether the editor opens at once. */
    isEditing: boolean
    /** Called when a text begins or ceases to differ from the file. */
    onDirty: (isDirty: boolean) => void
  } | null
  onDownload: () => void
}

export type Viewer = ComponentType<ViewerProps>

/** Seconds. It is long enough to pause a film and continue later. */
export const linkLifetime = 6 * 60 * 60

/** Identifies the content of a file at this time. */
export function contentKey({ id, modifiedAt, size }: ViewedFile): readonly unknown[] {
  return [id, modifiedAt, size]
}

/** The address of the content of a file. It changes with the content. */
export function useLink(file: ViewedFile, isWanted = true) {
  return useQuery({
    queryKey: ['link', ...contentKey(file)],
    queryFn: ({ signal }) => file.link(signal),
    staleTime: (linkLifetime * 1000) / 2,
    enabled: isWanted,
  })
}
