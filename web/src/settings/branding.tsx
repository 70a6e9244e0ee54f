import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { ask } from '../api/client.ts'
import { graphql } from '../api/graphql.ts'
import { queryKeys } from '../api/query-keys.ts'
import { useSession } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/settings.tsx'
import { inkOn } from '../ui/brand.tsx'
import { Button } from '../ui/button.tsx'
import { Checkbox } from '../ui/choices.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { submitting, TextField } from '../ui/field.tsx'
import { notify } from '../ui/toasts.tsx'

const UpdateBrandingMutation = graphql(`
  mutation UpdateBranding($input: UpdateWorkspaceInput!) {
    updateWorkspace(input: $input) { id }
  }
`)

/** As in the API: bytes. */
const maxLogo = 100 * 1024
/** The accent, while the workspace has no color of its own. */
const ownColor = '#2f55d4'

/** The look of the pages that people see without an account. */
export function BrandingForm() {
  const { branding } = useSession().workspace
  const client = useQueryClient()
  const [hasColor, setHasColor] = useState(branding.color !== null)
  const [color, setColor] = useState(branding.color ?? ownColor)
  const [text, setText] = useState(branding.text)
  const [logo, setLogo] = useState<File | null>(null)
  const [removesLogo, setRemovesLogo] = useState(false)
  const isTooLarge = logo !== null && logo.size > maxLogo
  const save = useMutation({
    mutationFn: async () => {
      const input = {
        brandColor: hasColor ? color : '',
        brandText: text,
        ...(removesLogo && { logo: '' }),
        ...(logo && { logo: await base64Of(logo) }),
      }
      await ask(UpdateBrandingMutation, { input })
      await client.invalidateQueries({ queryKey: queryKeys.session })
      await client.invalidateQueries({ queryKey: queryKeys.installation })
    },
    onSuccess: () => {
      setLogo(null)
      setRemovesLogo(false)
      notify(common.saved)
    },
  })
  const shown = hasColor ? color : ownColor
  return (
    <Form className="card" onSubmit={submitting(() => save.mutate())}>
      <h2>{texts.branding}</h2>
      <p className="help">{texts.brandingHelp}</p>
      <div className="brand-preview" style={{ background: shown, color: inkOn(shown) }} aria-hidden="true">
        {text === '' ? texts.brandingSample : text}
      </div>
      <div className="field">
        <label htmlFor="brand-logo">{texts.logo}</label>
        <input
          id="brand-logo"
          type="file"
          accept="image/png,image/jpeg,image/webp"
          aria-describedby="brand-logo-help"
          onChange={({ currentTarget }) => setLogo(currentTarget.files?.[0] ?? null)}
        />
        <p id="brand-logo-help" className="help">
          {isTooLarge ? texts.logoTooLarge : texts.logoHelp}
        </p>
      </div>
      {branding.logoUrl !== null && (
        <Checkbox isSelected={removesLogo} onChange={setRemovesLogo}>
          {texts.removeLogo}
        </Checkbox>
      )}
      <Checkbox isSelected={hasColor} onChange={setHasColor}>
        {texts.useColor}
      </Checkbox>
      {hasColor && (
        <div className="field">
          <label htmlFor="brand-color">{texts.color}</label>
          <input id="brand-color" type="color" value={color} onChange={({ target }) => setColor(target.value)} />
        </div>
      )}
      <TextField label={texts.brandText} value={text} onChange={setText} maxLength={200} autoComplete="off" />
      {save.error && <ErrorBox error={save.error} />}
      <div className="inline-row">
        <Button type="submit" variant="primary" isPending={save.isPending} isDisabled={isTooLarge}>
          {texts.saveBranding}
        </Button>
      </div>
    </Form>
  )
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  return btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''))
}
