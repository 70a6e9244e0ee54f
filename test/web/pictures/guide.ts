/** The pictures that the README and the guides show, of those that `test/web/screenshots.ts` takes. */

/** How their files are compressed. */
export const imageOptions = { quality: 82, effort: 6 } as const

/** Bytes of one picture, and of all of them. */
export const mostBytes = { image: 120_000, all: 1_200_000 }

export const guidePictures: readonly { image: string; picture: string }[] = [
  { image: 'home.webp', picture: 'wide-light/home' },
  { image: 'home-phone.webp', picture: 'phone-dark/home' },
  { image: 'files.webp', picture: 'wide-light/folder' },
  { image: 'files-dark.webp', picture: 'wide-dark/folder-tiles' },
  { image: 'gallery.webp', picture: 'wide-light/gallery' },
  { image: 'viewer.webp', picture: 'wide-dark/preview-photo' },
  { image: 'pdf.webp', picture: 'wide-light/preview-pdf' },
  { image: 'comments.webp', picture: 'wide-light/preview-comments' },
  { image: 'activity.webp', picture: 'wide-light/activity' },
  { image: 'stars.webp', picture: 'wide-light/starred' },
  { image: 'search.webp', picture: 'wide-light/search-results' },
  { image: 'insight.webp', picture: 'wide-light/insight' },
  { image: 'share.webp', picture: 'wide-light/share-people' },
  { image: 'share-page.webp', picture: 'phone-light/share-photo' },
  { image: 'share-gallery.webp', picture: 'wide-light/share-gallery' },
  { image: 'trash.webp', picture: 'wide-light/trash' },
  { image: 'versions.webp', picture: 'wide-light/versions-changes' },
  { image: 'copies.webp', picture: 'wide-light/copies-found' },
  { image: 'jobs.webp', picture: 'wide-light/jobs' },
  { image: 'connect.webp', picture: 'wide-light/connect' },
  { image: 'recovery-sheet.webp', picture: 'wide-light/recovery-sheet' },
  { image: 'members.webp', picture: 'wide-light/members' },
  { image: 'groups.webp', picture: 'wide-light/groups' },
  { image: 'api-keys.webp', picture: 'wide-light/api-keys' },
  { image: 'audit.webp', picture: 'wide-light/audit' },
  { image: 'security.webp', picture: 'wide-light/security' },
  { image: 'approvals.webp', picture: 'wide-light/approvals' },
  { image: 'overview.webp', picture: 'wide-light/overview' },
  { image: 'offline.webp', picture: 'phone-light/offline' },
]
