import type { ComponentProps } from 'react'
import { Dialog, DialogEnd } from '../../ui/dialog.tsx'
import { EntryDetails } from './entry-details.tsx'

/** Shows what is known about an entry, in windows of every size. */
export function DetailsDialog({
  onClose,
  ...details
}: Omit<ComponentProps<typeof EntryDetails>, 'onLeave'> & { onClose: () => void }) {
  return (
    <Dialog title={details.entry.name} size="large" onClose={onClose}>
      <EntryDetails {...details} onLeave={onClose} />
      <DialogEnd onClose={onClose} />
    </Dialog>
  )
}
