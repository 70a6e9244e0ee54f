import type { ReactNode } from 'react'
import './kinds.css'

/**
 * Simple drawings of our own for the types of storage on a 24 × 24 grid, in the colors of the vendors, so that people recognize
 * theirs. They are decorative: the name of the storage or of its type stands beside them.
 */
const logos: Readonly<Record<string, ReactNode>> = {
  local: (
    <>
      <path fill="#7c8fae" d="M5.2 4h13.6a1.5 1.5 0 0 1 1.45 1.1L22.5 13h-21l2.25-7.9A1.5 1.5 0 0 1 5.2 4z" />
      <path fill="#566684" d="M1.5 13h21v5.5A1.5 1.5 0 0 1 21 20H3a1.5 1.5 0 0 1-1.5-1.5z" />
      <path fill="#7be0a4" d="M17.2 15.5h2.3v2h-2.3z" />
      <path fill="#c9d3e4" d="M4.5 16h7v1h-7z" />
    </>
  ),
  s3: (
    <>
      <path fill="#6c9a2b" d="M3 5.5 5.4 20c.1.9 3 2 6.6 2s6.5-1.1 6.6-2L21 5.5c0 1.7-4 3-9 3s-9-1.3-9-3z" />
      <ellipse cx="12" cy="5.3" rx="9" ry="3.2" fill="#b6d77a" />
      <circle cx="12" cy="14.5" r="1.8" fill="#ffffff" />
      <path fill="none" stroke="#ffffff" strokeWidth="1.3" strokeLinecap="round" d="M13.5 15.4c2.6 1.3 5.3 2.2 8 2.3" />
    </>
  ),
  'azure-blob': (
    <>
      <path fill="#0f6cbd" d="M3 5h18v3.5H3z" />
      <path fill="#50a8ef" d="M3 10h5.5v9.5H4.5A1.5 1.5 0 0 1 3 18z" />
      <path fill="#2b88d8" d="M9.8 10h4.4v9.5H9.8z" />
      <path fill="#0078d4" d="M15.5 10H21v8a1.5 1.5 0 0 1-1.5 1.5h-4z" />
    </>
  ),
  'google-drive': (
    <>
      <path fill="#1ea362" d="M8.2 3.5 12 10 5.3 21.3 1.5 14.9z" />
      <path fill="#ffba00" d="M8.2 3.5h7.6l6.7 11.4h-7.6z" />
      <path fill="#4285f4" d="M9 14.9h13.5l-3.8 6.4H5.3z" />
    </>
  ),
  dropbox: (
    <path
      fill="#0061ff"
      d="M7 2.8 1.8 6.2 7 9.6l5.2-3.4zM17.2 2.8 12 6.2l5.2 3.4 5.2-3.4zM1.8 13 7 16.4l5.2-3.4L7 9.6zM17.2 9.6 12 13l5.2 3.4 5.2-3.4zM7 17.6l5.1 3.4 5.1-3.4-5.1-3.4z"
    />
  ),
  onedrive: (
    <>
      <path fill="#0364b8" d="M9.2 6.2a6 6 0 0 1 8.7 3.6L9.5 14 4 10.9a5.8 5.8 0 0 1 5.2-4.7z" />
      <path fill="#0f78d4" d="M4.6 10.4a4.6 4.6 0 0 1 5.2-.2L16 14l-8.2 5H5.2a4.4 4.4 0 0 1-.6-8.6z" />
      <path fill="#28a8ea" d="M17 9.6a4.8 4.8 0 0 1 1.6 9.4H6l8-6.6a5 5 0 0 1 3-2.8z" />
    </>
  ),
  webdav: (
    <>
      <circle cx="12" cy="12" r="9.5" fill="#2f6fb5" />
      <path
        fill="none"
        stroke="#ffffff"
        strokeWidth="1.4"
        d="M2.7 12h18.6M12 2.7c5 5.3 5 13.3 0 18.6M12 2.7c-5 5.3-5 13.3 0 18.6"
      />
    </>
  ),
  sftp: (
    <>
      <rect x="2" y="3.5" width="20" height="17" rx="3" fill="#22303f" />
      <path
        fill="none"
        stroke="#6fe3a1"
        strokeWidth="1.8"
        strokeLinecap="round"
        strokeLinejoin="round"
        d="m6.3 9 3.2 3-3.2 3M11.5 15.5h5.5"
      />
    </>
  ),
  ftp: (
    <>
      <rect x="2" y="3.5" width="20" height="17" rx="3" fill="#8a5a2b" />
      <path
        fill="none"
        stroke="#ffe2b8"
        strokeWidth="1.8"
        strokeLinecap="round"
        strokeLinejoin="round"
        d="M8.5 16.5v-9M5.8 10l2.7-2.7L11.2 10M15.5 7.5v9M12.8 14l2.7 2.7 2.7-2.7"
      />
    </>
  ),
  memory: (
    <>
      <path
        fill="none"
        stroke="#6d7b93"
        strokeWidth="1.6"
        strokeLinecap="round"
        d="M8 2v20M12 2v20M16 2v20M2 8h20M2 12h20M2 16h20"
      />
      <rect x="4.5" y="4.5" width="15" height="15" rx="2.5" fill="#5a3fb0" />
      <rect x="8.5" y="8.5" width="7" height="7" rx="1.2" fill="#b9a5f5" />
    </>
  ),
}

const other = (
  <>
    <path
      fill="#7c8fae"
      d="M3.5 4h17A1.5 1.5 0 0 1 22 5.5v4a1.5 1.5 0 0 1-1.5 1.5h-17A1.5 1.5 0 0 1 2 9.5v-4A1.5 1.5 0 0 1 3.5 4z"
    />
    <path
      fill="#566684"
      d="M3.5 13h17a1.5 1.5 0 0 1 1.5 1.5v4a1.5 1.5 0 0 1-1.5 1.5h-17A1.5 1.5 0 0 1 2 18.5v-4A1.5 1.5 0 0 1 3.5 13z"
    />
    <path fill="#7be0a4" d="M5 6.8h1.5v1.5H5zM5 15.8h1.5v1.5H5z" />
  </>
)

/** The built-in types that have a logo of their own. */
export const knownTypes = Object.keys(logos)

/** The logo of a type of storage; a neutral one for other adapters. */
export function StorageLogo({ type }: { type: string }) {
  return (
    <svg className="storage-logo" viewBox="0 0 24 24" aria-hidden="true">
      {Object.hasOwn(logos, type) ? logos[type] : other}
    </svg>
  )
}
