//! What becomes of a function with attributes: it stays unchanged, so that tests can call it, and
//! a type of its name declares the handlers.

use crate::arguments::Arguments;
use crate::kinds::{self, Kind};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Error, FnArg, Ident, Item, ItemFn, Meta, Result, Type};

/// One attribute of this crate.
struct Registration {
    kind: &'static Kind,
    arguments: TokenStream,
    span: Span,
}

/// Expands the first attribute of a function together with the others of this crate below it.
pub fn expand(name: &str, arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let Item::Fn(mut function) = syn::parse2(item.clone())? else {
        return Err(Error::new_spanned(first(item), "a handler is a function"));
    };
    let kind = kinds::find(name).ok_or_else(|| Error::new(Span::call_site(), "an unknown kind of handlers"))?;
    let mut registrations = vec![Registration { kind, arguments, span: Span::call_site() }];
    let mut others = Vec::new();
    for attribute in std::mem::take(&mut function.attrs) {
        match registration(&attribute) {
            Some(registration) => registrations.push(registration),
            None => others.push(attribute),
        }
    }
    function.attrs = others;
    // With an error, the rest stays in its place, so that there are no errors that follow of it.
    let (declared, problem) = match all_declared(&registrations, &function, kind) {
        Ok(declared) => (declared, None),
        Err(err) => (TokenStream::new(), Some(err.to_compile_error())),
    };
    let (visibility, ident) = (&function.vis, &function.sig.ident);
    Ok(quote! {
        #problem
        #function

        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #visibility struct #ident {}

        impl ::kopf::__private::Declare for #ident {
            fn declare(__operator: &mut ::kopf::Operator) {
                #declared
            }
        }
    })
}

/// The declarations of all handlers of a function.
fn all_declared(registrations: &[Registration], function: &ItemFn, kind: &Kind) -> Result<TokenStream> {
    refuse_twins(registrations)?;
    let argument = argument(function, kind)?;
    registrations.iter().map(|registration| declared(registration, function, argument)).collect()
}

/// The first token that says what an item is.
fn first(item: TokenStream) -> TokenStream {
    item.into_iter().next().map(ToTokens::into_token_stream).unwrap_or_default()
}

/// An attribute of this crate: `#[kopf::create(…)]`, or `#[create(…)]` after a `use`.
fn registration(attribute: &Attribute) -> Option<Registration> {
    let path = attribute.path();
    let own = path.segments.len() == 1 || path.segments.len() == 2 && path.segments[0].ident == "kopf";
    let kind = kinds::find(&path.segments.last()?.ident.to_string()).filter(|_| own)?;
    let arguments = match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    Some(Registration { kind, arguments, span: path.span() })
}

/// Two attributes that say the same would be one handler twice.
fn refuse_twins(registrations: &[Registration]) -> Result<()> {
    for (i, one) in registrations.iter().enumerate() {
        let said = one.arguments.to_string();
        let same = |other: &Registration| other.kind.name == one.kind.name && other.arguments.to_string() == said;
        if registrations[..i].iter().any(same) {
            return Err(Error::new(one.span, "the same handler is registered twice"));
        }
    }
    Ok(())
}

/// The type of the argument of a handler. Other signatures are refused.
fn argument<'a>(function: &'a ItemFn, kind: &Kind) -> Result<&'a Type> {
    let signature = &function.sig;
    if !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(&signature.generics, "a handler cannot be generic"));
    }
    let mut inputs = signature.inputs.iter();
    let problem = match (inputs.next(), inputs.next()) {
        (Some(FnArg::Typed(argument)), None) => return Ok(&argument.ty),
        (Some(FnArg::Receiver(receiver)), _) => Error::new_spanned(receiver, "a handler is a function, not a method"),
        (_, Some(extra)) => Error::new_spanned(extra, format!("a handler has one argument: `{}`", kind.example)),
        (None, None) => {
            let place = signature.paren_token.span.join();
            Error::new(place, format!("a handler has one argument: `{}`", kind.example))
        }
    };
    Err(problem)
}

/// The declaration of one handler.
fn declared(registration: &Registration, function: &ItemFn, argument: &Type) -> Result<TokenStream> {
    let Registration { kind, arguments, span } = registration;
    let arguments: Arguments = syn::parse2(arguments.clone())?;
    let selector = arguments.selector(kind, *span)?.map(|selector| quote!(#selector,));
    let options = arguments.calls(kind)?;
    let ident = &function.sig.ident;
    let name = ident.unraw().to_string();
    let constructor = format_ident!("{}", kind.constructor);
    let bound = Ident::new(kind.argument, argument.span());
    let call = match function.sig.asyncness {
        Some(_) => quote!(#ident),
        None => quote!(|__argument: #argument| ::core::future::ready(#ident(__argument))),
    };
    let check = quote_spanned! {argument.span()=>
        fn __check<T: ::kopf::__private::#bound>() {}
        __check::<#argument>();
    };
    Ok(quote! {
        {
            #check
            let __handler = ::kopf::Handler::#constructor(#selector #call);
            let __path = ::core::concat!(::core::module_path!(), "::", #name);
            __operator.add(::kopf::__private::named(__handler, #name, __path) #options);
        }
    })
}
