import { Suspense, useState } from 'react'
import type { StorageLocation } from '../../api/locations.ts'
import { usePermissions } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { texts } from '../../texts/marks.ts'
import { Button } from '../../ui/button.tsx'
import type { Entry } from '../operations.ts'
import { useToggleStar } from './operations.ts'
import { TagLinks } from './tag-links.tsx'

const TagsDialog = lazyPart(async () => (await import('./tags-dialog.tsx')).TagsDialog)

/** The star and the tags of an entry, as part of its details. */
export function Marks({
  folder,
  entry,
  marks,
}: {
  folder: StorageLocation
  entry: Entry
  /** The marks that the details have read. */
  marks: { isStarred: boolean; tags: readonly string[] }
}) {
  const { canWrite } = usePermissions()
  const toggleStar = useToggleStar()
  const [isOpen, setOpen] = useState(false)
  const marked: Entry = { ...entry, isStarred: marks.isStarred, tags: [...marks.tags] }
  return (
    <div className="details-fact">
      <dt>{texts.tags}</dt>
      <dd>
        <span>{marks.tags.length > 0 ? <TagLinks tags={marks.tags} /> : texts.noTags}</span>
        <span className="details-marks">
          {canWrite && <Button onPress={() => setOpen(true)}>{texts.editTags}</Button>}
          <Button onPress={() => void toggleStar(folder, [marked])}>
            {marks.isStarred ? texts.removeStar : texts.addStar}
          </Button>
        </span>
        <Suspense>
          {isOpen && <TagsDialog folder={folder} entries={[marked]} onClose={() => setOpen(false)} />}
        </Suspense>
      </dd>
    </div>
  )
}
