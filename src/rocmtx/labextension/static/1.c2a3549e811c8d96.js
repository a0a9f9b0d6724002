"use strict";(self.rspackChunkrocmtx=self.rspackChunkrocmtx||[]).push([[1],{20(t,e,r){var n=r(21),o=r.n(n),a=r(22),i=(r.n(a))()(o());i.push([t.id,`.rtx-StatusItem {
  appearance: none;
  border: none;
  background: none;
  color: inherit;
  cursor: pointer;
  font: inherit;
  line-height: var(--jp-statusbar-height, 24px);
  padding: 0 6px;
}

.rtx-StatusItem:hover {
  background: var(--jp-layout-color3);
}

.rtx-StatusItem:focus-visible {
  outline: 1px solid var(--jp-brand-color1);
  outline-offset: -1px;
}

.rtx-About {
  display: grid;
  grid-template-columns: auto 1fr;
  gap: 4px 12px;
  margin: 0;
  max-width: 36em;
}

.rtx-About dt {
  color: var(--jp-ui-font-color2);
}

.rtx-About dd {
  margin: 0;
  overflow-wrap: anywhere;
}
`,""]),r.d(e,{},{A:i})},22(t){t.exports=function(t){var e=[];return e.toString=function(){return this.map(function(e){var r="",n=void 0!==e[5];return e[4]&&(r+="@supports (".concat(e[4],") {")),e[2]&&(r+="@media ".concat(e[2]," {")),n&&(r+="@layer".concat(e[5].length>0?" ".concat(e[5]):""," {")),r+=t(e),n&&(r+="}"),e[2]&&(r+="}"),e[4]&&(r+="}"),r}).join("")},e.i=function(t,r,n,o,a){"string"==typeof t&&(t=[[null,t,void 0]]);var i={};if(n)for(var c=0;c<this.length;c++){var s=this[c][0];null!=s&&(i[s]=!0)}for(var u=0;u<t.length;u++){var p=[].concat(t[u]);n&&i[p[0]]||(void 0!==a&&(void 0===p[5]||(p[1]="@layer".concat(p[5].length>0?" ".concat(p[5]):""," {").concat(p[1],"}")),p[5]=a),r&&(p[2]&&(p[1]="@media ".concat(p[2]," {").concat(p[1],"}")),p[2]=r),o&&(p[4]?(p[1]="@supports (".concat(p[4],") {").concat(p[1],"}"),p[4]=o):p[4]="".concat(o)),e.push(p))}},e}},21(t){t.exports=function(t){return t[1]}},14(t){var e=[];function r(t){for(var r=-1,n=0;n<e.length;n++)if(e[n].identifier===t){r=n;break}return r}function n(t,n){for(var o={},a=[],i=0;i<t.length;i++){var c=t[i],s=n.base?c[0]+n.base:c[0],u=o[s]||0,p="".concat(s," ").concat(u);o[s]=u+1;var l=r(p),d={css:c[1],media:c[2],sourceMap:c[3],supports:c[4],layer:c[5]};if(-1!==l)e[l].references++,e[l].updater(d);else{var f=function(t,e){var r=e.domAPI(e);return r.update(t),function(e){e?(e.css!==t.css||e.media!==t.media||e.sourceMap!==t.sourceMap||e.supports!==t.supports||e.layer!==t.layer)&&r.update(t=e):r.remove()}}(d,n);n.byIndex=i,e.splice(i,0,{identifier:p,updater:f,references:1})}a.push(p)}return a}t.exports=function(t,o){var a=n(t=t||[],o=o||{});return function(t){t=t||[];for(var i=0;i<a.length;i++){var c=r(a[i]);e[c].references--}for(var s=n(t,o),u=0;u<a.length;u++){var p=r(a[u]);0===e[p].references&&(e[p].updater(),e.splice(p,1))}a=s}}},16(t){var e={};t.exports=function(t,r){var n=function(t){if(void 0===e[t]){var r=document.querySelector(t);if(window.HTMLIFrameElement&&r instanceof window.HTMLIFrameElement)try{r=r.contentDocument.head}catch(t){r=null}e[t]=r}return e[t]}(t);if(!n)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");n.appendChild(r)}},18(t){t.exports=function(t){var e=document.createElement("style");return t.setAttributes(e,t.attributes),t.insert(e,t.options),e}},17(t,e,r){t.exports=function(t){var e=r.nc;e&&t.setAttribute("nonce",e)}},15(t){t.exports=function(t){if("u"<typeof document)return{update:function(){},remove:function(){}};var e=t.insertStyleElement(t);return{update:function(r){var n,o,a;n="",r.supports&&(n+="@supports (".concat(r.supports,") {")),r.media&&(n+="@media ".concat(r.media," {")),(o=void 0!==r.layer)&&(n+="@layer".concat(r.layer.length>0?" ".concat(r.layer):""," {")),n+=r.css,o&&(n+="}"),r.media&&(n+="}"),r.supports&&(n+="}"),(a=r.sourceMap)&&"u">typeof btoa&&(n+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(a))))," */")),t.styleTagTransform(n,e,t.options)},remove:function(){var t;null===(t=e).parentNode||t.parentNode.removeChild(t)}}}},19(t){t.exports=function(t,e){if(e.styleSheet)e.styleSheet.cssText=t;else{for(;e.firstChild;)e.removeChild(e.firstChild);e.appendChild(document.createTextNode(t))}}},13(t,e,r){var n=r(14),o=r.n(n),a=r(15),i=r.n(a),c=r(16),s=r.n(c),u=r(17),p=r.n(u),l=r(18),d=r.n(l),f=r(19),v=r.n(f),m=r(20),h={};h.styleTagTransform=v(),h.setAttributes=p(),h.insert=s().bind(null,"head"),h.domAPI=i(),h.insertStyleElement=d(),o()(m.A,h),m.A&&m.A.locals&&m.A.locals}}]);