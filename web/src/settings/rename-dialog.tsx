import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { TextField } from '../ui/field.tsx'

export function RenameDialog({
  title,
  name: before,
  act,
  onClose,
}: {
  title: string
  name: string
  act: (name: string) => Promise<void>
  onClose: () => void
}) {
  const [name, setName] = useState(before)
  const rename = useMutation({ mutationFn: act, onSuccess: onClose })
  return (
    <Dialog title={title} onClose={onClose} isBusy={rename.isPending}>
      <Form
        onSubmit={event => {
          event.preventDefault()
          rename.mutate(name)
        }}
      >
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          isRequired
          maxLength={200}
          autoFocus
          autoComplete="off"
        />
        {rename.error && <ErrorBox error={rename.error} />}
        <div className="dialog-actions">
          <Button onPress={onClose} isDisabled={rename.isPending}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" isPending={rename.isPending}>
            Rename
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}
