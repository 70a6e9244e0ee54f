import type { Viewer } from '../../auth/viewer.ts'
import type { ShareRecord } from '../../db/shares/record.ts'

/** A share that a request has opened with its link and, if it has one, its password. */
export interface OpenedShare {
  viewer: Viewer
  share: ShareRecord
}
